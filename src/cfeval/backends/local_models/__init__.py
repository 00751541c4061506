"""What models that run in this process share: checkpoints, devices, memory."""
