"""A user's Django app whose handlers write down what they do."""
