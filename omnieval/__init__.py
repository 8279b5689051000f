"""omnieval: an accuracy suite for omni-modal models.

The public functions are in `omnieval.api`; the command line is `omnieval`.
"""

__version__ = "0.1.0"
