"""What every study rests on: files, images and records, plug-ins, and what results are made from."""
