"""Language models of Hugging Face, loaded here."""
