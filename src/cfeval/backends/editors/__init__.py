"""Image editors: image and instruction → counterfactual image."""
