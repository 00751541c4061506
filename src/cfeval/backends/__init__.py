"""Everything that can be swapped: one folder a family, one file a plug-in, the file's name is the plug-in's."""
