"""What a reader looks at: figures and the HTML report. Tables and records in, text and pictures out."""
