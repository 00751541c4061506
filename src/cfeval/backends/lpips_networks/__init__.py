"""The networks of LPIPS and ST-LPIPS: one way to compare, several trunks."""
