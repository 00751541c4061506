"""What every classifier that runs in this process needs: options, preprocessing, classes, weights, architectures."""
