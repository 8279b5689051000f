"""From media files to the frames and sounds that a request carries."""
