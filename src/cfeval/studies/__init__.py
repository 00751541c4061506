"""The studies: one folder a study, one file a stage; records and ready backends in, records out."""
