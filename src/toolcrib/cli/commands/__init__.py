"""The verbs and their options, by what they are about: parsing and nothing else."""
