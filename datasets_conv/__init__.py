"""Conversions of data sets as modules: `python -m datasets_conv.daily_omni --src DIR --dst DIR`."""
