"""The crowd provider `link`: raters who come by an address, of a panel or with an invitation."""
