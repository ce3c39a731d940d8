"""Tables, pictures, captions and what is made of them; nothing here knows a model."""
