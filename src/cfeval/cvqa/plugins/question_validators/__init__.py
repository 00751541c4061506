"""Question validators of drafted questions: is the question about the image, is its answer right?"""
