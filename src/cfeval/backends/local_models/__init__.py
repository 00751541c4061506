"""What every model that runs in this process needs: its checkpoint, a device, memory, silence."""
