"""Arena (Ma et al. 2023, §3.2, after Chatbot Arena): two models side by side, a chat with each, and one verdict."""
