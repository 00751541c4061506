"""Visual counterfactual explanations: what would the classifier have to see to say something else?"""
