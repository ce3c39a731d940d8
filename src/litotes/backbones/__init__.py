"""What stands around a CLIP backbone: its picture preprocessing and its tokenizer."""
