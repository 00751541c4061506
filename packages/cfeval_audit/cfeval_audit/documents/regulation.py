"""What the EU AI Act asks, and cards for registries.

Sources: Regulation (EU) 2024/1689, Annex IV point 2 (g), Annex XI Section 2 point 1, Article 13 (3) (b); model cards
after Mitchell et al. 2019.
"""

from cfeval_audit.documents.parts import (
    Document,
    calls,
    claims,
    data,
    limits,
    method,
    metrics,
    results,
    said,
    tests,
)

DOCUMENTS: dict[str, Document] = {
    "annex-iv-2g": (
        "Validation and testing (EU AI Act, Annex IV, point 2 (g))",
        (
            ("System", said("the AI system, its version and intended purpose; which of the models below it uses")),
            ("Procedures", method),
            ("Validation and testing data", data),
            ("Metrics", metrics),
            ("Results", results),
            ("Robustness: what each model's figures support", claims),
            ("Potentially discriminatory impacts", said("how they were examined; this run did not measure them")),
            ("Limits", limits),
            ("Test logs and reports", tests),
        ),
    ),
    "annex-xi-section-2": (
        "Evaluation strategies (EU AI Act, Annex XI, Section 2, point 1)",
        (
            ("Model", said("the general-purpose model, its version, and why it was evaluated")),
            ("Methodology", method),
            ("Evaluation criteria and metrics", metrics),
            ("Data", data),
            ("Results", results),
            ("How limitations were identified", claims),
            ("Limitations", limits),
            ("Models as they named themselves", calls),
        ),
    ),
    "article-13": (
        "For the instructions for use (EU AI Act, Article 13 (3) (b))",
        (
            ("Purpose and foreseeable misuse", said("intended purpose; circumstances that may lead to risks")),
            ("How far its explanations can be relied upon", claims),
            ("Accuracy of that statement", results),
            ("What it does not say", limits),
            ("Use", said("how deployers should read an explanation, and when they must not rely on it")),
        ),
    ),
    "model-card": (
        "Model card: faithfulness of explanations",
        (
            ("Model details", said("developer, date, version, licence of the model")),
            ("Metrics", metrics),
            ("Evaluation data", data),
            ("Quantitative analyses", results),
            ("Caveats", limits),
        ),
    ),
    "evaluation-card": (
        "Evaluation card",
        (
            ("What is measured", metrics),
            ("How", method),
            ("On what", data),
            ("Contamination", said("whether items may be in the training data of the models")),
            ("Results", results),
            ("Claims", claims),
            ("Limits", limits),
            ("Models as they named themselves", calls),
            ("How to check it", tests),
        ),
    ),
}
"""The documents by the names of their files: title and parts."""
