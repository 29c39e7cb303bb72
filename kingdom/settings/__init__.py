"""What a person may set in `config/`: the models, where each value comes from, the files."""
