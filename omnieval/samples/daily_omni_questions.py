"""The questions of the bundled Daily-Omni sample: data, in the order of `qa.json`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """options are without labels; answer is a letter."""

    video_id: str
    type: str
    category: str
    text: str
    options: tuple[str, str, str, str]
    answer: str

    def row(self, duration: str) -> dict[str, object]:
        """The row of `qa.json`, with the official keys."""
        return {
            "Question": self.text,
            "Choice": [f"{letter}. {option}" for letter, option in zip("ABCD", self.options, strict=True)],
            "Answer": self.answer,
            "video_id": self.video_id,
            "Type": self.type,
            "video_category": self.category,
            "video_duration": duration,
            "content_parent_category": "Synthetic",
            "content_fine_category": "Drawn shapes and synthesised sound",
        }


_HOWTO, _TRAVEL, _EDUCATION, _SPORTS = "Howto & Style", "Travel & Events", "Education", "Sports"
_ALIGN, _COMPARE, _CONTEXT = "AV Event Alignment", "Comparative", "Context understanding"
_SEQUENCE, _INFER, _REASON = "Event Sequence", "Inference", "Reasoning"

QUESTIONS: tuple[Question, ...] = (
    Question(
        "kitchen_01",
        _SEQUENCE,
        _HOWTO,
        "What does the speaker say to do first?",
        ("Cut the bread", "Boil the water", "Wash the apples", "Peel the onions"),
        "C",
    ),
    Question(
        "kitchen_01",
        _CONTEXT,
        _HOWTO,
        "What colour is the shape that moves across the screen?",
        ("Green", "Red", "Blue", "Black"),
        "B",
    ),
    Question(
        "kitchen_01",
        _ALIGN,
        _HOWTO,
        "In which direction does the shape move while the speaker talks about apples and bread?",
        ("From left to right", "From right to left", "Upwards", "Downwards"),
        "A",
    ),
    Question(
        "harbour_02",
        _CONTEXT,
        _TRAVEL,
        "When does the boat leave?",
        ("At five", "At six", "At eight", "At seven"),
        "D",
    ),
    Question(
        "harbour_02",
        _ALIGN,
        _TRAVEL,
        "Which shape crosses the screen while the boat is announced?",
        ("A red circle", "A blue square", "A green triangle", "A yellow square"),
        "B",
    ),
    Question(
        "harbour_02",
        _INFER,
        _TRAVEL,
        "A passenger arrives at noon. What has happened?",
        ("The boat has left", "The boat is just arriving", "The boat is late", "The boat was cancelled"),
        "A",
    ),
    Question(
        "market_03",
        _CONTEXT,
        _HOWTO,
        "How much do the melons cost?",
        ("Three dollars", "Two dollars", "Five dollars", "Nine dollars"),
        "C",
    ),
    Question(
        "market_03",
        _COMPARE,
        _HOWTO,
        "Which is more expensive?",
        ("The tomatoes", "Both cost the same", "It is not said", "The melons"),
        "D",
    ),
    Question(
        "market_03",
        _REASON,
        _HOWTO,
        "What do one portion of tomatoes and one of melons cost together?",
        ("Six dollars", "Eight dollars", "Ten dollars", "Two dollars"),
        "B",
    ),
    Question(
        "market_03",
        _ALIGN,
        _HOWTO,
        "In which direction does the circle move during the announcement?",
        ("Upwards", "Downwards", "From left to right", "From right to left"),
        "A",
    ),
    Question(
        "counting_04",
        _ALIGN,
        _EDUCATION,
        "Which shape is on the screen while the voice says two?",
        ("A red square", "A purple triangle", "A white star", "A green circle"),
        "D",
    ),
    Question(
        "counting_04",
        _SEQUENCE,
        _EDUCATION,
        "In which order do the shapes appear?",
        (
            "Circle, square, triangle",
            "Triangle, circle, square",
            "Square, circle, triangle",
            "Square, triangle, circle",
        ),
        "C",
    ),
    Question(
        "station_05",
        _CONTEXT,
        _TRAVEL,
        "On which platform should people wait?",
        ("Platform two", "Platform four", "Platform nine", "Platform one"),
        "B",
    ),
    Question(
        "station_05",
        _REASON,
        _TRAVEL,
        "Why is the train late?",
        ("Because of snow", "Because of an accident", "Because of a strike", "Because of a fire"),
        "A",
    ),
    Question(
        "station_05",
        _SEQUENCE,
        _TRAVEL,
        "What is heard before the announcement?",
        ("Applause", "A barking dog", "Rain", "Two chimes"),
        "D",
    ),
    Question(
        "garden_06",
        _INFER,
        _EDUCATION,
        "Why are the flowers wet?",
        ("Somebody watered them", "There is a fountain", "It rained", "There is morning fog"),
        "C",
    ),
    Question(
        "garden_06",
        _COMPARE,
        _EDUCATION,
        "How many circles are there compared with squares?",
        ("Equally many", "More circles", "More squares", "There are neither"),
        "B",
    ),
    Question(
        "garden_06",
        _CONTEXT,
        _EDUCATION,
        "What colour are the circles?",
        ("Yellow", "Purple", "Red", "Blue"),
        "A",
    ),
    Question(
        "race_07",
        _COMPARE,
        _SPORTS,
        "Which ball is faster?",
        ("The purple one", "The green one", "Both are equally fast", "The orange one"),
        "D",
    ),
    Question(
        "race_07",
        _REASON,
        _SPORTS,
        "Which ball does the speaker call the winner?",
        ("The purple one", "Neither", "The orange one", "The green one"),
        "C",
    ),
    Question(
        "door_08",
        _CONTEXT,
        _EDUCATION,
        "Who is asked to open the door?",
        ("Peter", "Maria", "Susan", "Thomas"),
        "B",
    ),
    Question(
        "door_08",
        _SEQUENCE,
        _EDUCATION,
        "What is heard right before the voice?",
        ("Knocking", "A rising tone", "A ringing phone", "Breaking glass"),
        "A",
    ),
    Question(
        "door_08",
        _INFER,
        _EDUCATION,
        "Where does the shape go after the knocking?",
        ("To the left", "To the right", "Up", "Down"),
        "D",
    ),
)
