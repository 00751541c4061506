"""Sets of given pairs, one file each. All read the user's own download; none ships data or fetches any."""
