"""`omnieval data convert video-mme` under a name of its own: zip archives to a flat tree."""

from datasets_conv.command import convert

if __name__ == "__main__":
    convert("video-mme")
