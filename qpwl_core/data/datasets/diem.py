"""DIEM: 210 people watch some of 84 video clips, both eyes at 30 Hz (the eye movements of the paper)."""

from __future__ import annotations

from qpwl_core.data.datasets.dataset import Dataset
from qpwl_core.data.datasets.files import table


def read(dataset, folder):
    """A file is frame, then x, y, dilation, event of the left and of the right eye, tab separated, without header.

    Kept are the D = 6 channels of the paper. The event codes say more than they do (-1 error, 0 blink: the values are
    then zero or wild), so there the eye's pupil is set to 0, which the eye recipe takes for a lost sample.
    """
    def sequence(member):
        rows = table(member.text(), member.name, columns=9, delimiter="\t")
        values = rows[:, [1, 2, 3, 5, 6, 7]]
        for pupil, event in ((2, 4), (5, 8)):
            values[rows[:, event] <= 0, pupil] = 0
        return member.match["subject"], member.match["stimulus"], values.astype("float32")

    return dataset.recordings(dataset.in_order(folder, sequence).values())


DIEM = Dataset(
    name="diem", domain="eye", title="free viewing of 84 video clips, gaze and pupil of both eyes",
    rate=30.0, channels=("left_x_px", "left_y_px", "left_pupil", "right_x_px", "right_y_px", "right_pupil"),
    subjects=210, licence="research, non-commercial",
    citation="Mital, Smith, Hill, Henderson: Clustering of gaze during dynamic scene viewing is predicted by motion. "
             "Cognitive Computation 3(1), 2011",
    url="https://thediemproject.wordpress.com/videos-and%C2%A0data/", size="1 GB without the videos themselves",
    example="<video>/event_data/diem5s01.asc_15_<video>.txt of every video",
    # The subject is what stands before .asc; the number after it counts something else.
    pattern=r"(?P<subject>[^/]+?)\.asc_\d+_(?P<stimulus>.+)\.txt",
    reader=read, train_subjects=105, test_subjects=105, stimuli_disjoint=True,
    info=(("units", "px of the screen, pupil in units of the tracker, 0 where lost"),))
