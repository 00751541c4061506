"""Vision operations for programs; the protocol and its types stand in `cfeval.programs.vision`."""

from cfeval.programs.vision import Box, Found, View, Vision, VisionError

__all__ = ["Box", "Found", "View", "Vision", "VisionError"]
