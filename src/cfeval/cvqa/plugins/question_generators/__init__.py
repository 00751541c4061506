"""Question generators of counterfactual questions: question and answer → new question and answer, in steps."""
