"""The checks behind ``manage.py doctor``: each looks at one thing and says what it found."""
