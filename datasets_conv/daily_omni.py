"""`omnieval data convert daily-omni` under a name of its own: parquet to qa.json and Videos."""

from datasets_conv.command import convert

if __name__ == "__main__":
    convert("daily-omni")
