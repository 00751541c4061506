"""Visual counterfactual explanations of classifiers: images, counterfactuals, scores of each, scores of groups."""
