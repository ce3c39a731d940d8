"""What stands around a CLIP backbone: picture preprocessing, tokenizer, and the files that weights come in."""
