"""What every study rests on: files, images and records, plugins, and what results are made from."""
