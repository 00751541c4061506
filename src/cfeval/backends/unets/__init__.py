"""UNets that find the noise in an image: those of diffusers, and OpenAI's guided-diffusion made into such."""
