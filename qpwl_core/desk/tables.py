"""The tables of a desk, the same in a SQLite file and in a PostgreSQL schema: HEADER, PEOPLE, SEQUENCES, LOG, TRUTHS.

They are made when one is first asked for. TABLES are those that every desk has. TRUTHS stands beside the log where the
truth is known, so that files of before are read and files of now can be read by what was before.
"""

from functools import cache


@cache
def _made() -> dict:
    from sqlalchemy import BigInteger, Column, Double, ForeignKey, Index, Integer, LargeBinary, MetaData, Table, Text
    from sqlalchemy.dialects.sqlite import REAL

    def needed(name: str, kind=Text, *more, **options) -> Column:
        return Column(name, kind, *more, nullable=False, **options)

    whole = BigInteger().with_variant(Integer, "sqlite")
    real = Double().with_variant(REAL, "sqlite")  # type: ignore[var-annotated]  # of SQLAlchemy
    by_code_point = Text().with_variant(Text(collation="C"), "postgresql")    # as SQLite sorts
    made = MetaData()
    header = Table("header", made, Column("name", Text, primary_key=True), needed("value"), sqlite_strict=True)
    people = Table("people", made, Column("id", whole, primary_key=True), needed("name"),
                   needed("key", by_code_point, unique=True), needed("added"), needed("origin"), sqlite_strict=True)
    sequences = Table("sequences", made, Column("id", whole, primary_key=True),
                      needed("person", whole, ForeignKey("people.id", ondelete="CASCADE")),
                      needed("embedding", LargeBinary), needed("crc", whole), sqlite_strict=True)
    Index("sequences_of", sequences.c.person)
    log = Table("log", made, Column("id", whole, primary_key=True), needed("time"), needed("kind"),
                Column("claimed", Text), Column("decided", Text), needed("distance", real), needed("threshold", real),
                needed("n", Integer), needed("enrolled", Integer), needed("model"), sqlite_autoincrement=True,
                sqlite_strict=True)
    truths = Table("truths", MetaData(), Column("log", whole, primary_key=True, autoincrement=False),
                   Column("truth", Text), Column("guess", Text), sqlite_strict=True)
    return {"TABLES": made, "HEADER": header, "PEOPLE": people, "SEQUENCES": sequences, "LOG": log, "TRUTHS": truths}


def __getattr__(name: str):
    if name not in ("TABLES", "HEADER", "PEOPLE", "SEQUENCES", "LOG", "TRUTHS"):
        raise AttributeError(name)
    return _made()[name]
