"""`omnieval data convert seed-tts` under a name of its own: the tar to a folder."""

from datasets_conv.command import convert

if __name__ == "__main__":
    convert("seed-tts")
