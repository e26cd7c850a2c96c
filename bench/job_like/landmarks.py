"""Works and people that are there at any scale.

Benchmarks on this schema ask for single works, people and characters. What such a question needs is written down here
and added to what is drawn: a landmark takes the place of a drawn title or person and is as popular as the most popular
ones, so that it has all that those have; the rows named here come on top.
"""

from typing import NamedTuple

from job_like.vocabulary import COUNTRIES

# Casts of landmarks: who they are and whether a man or a woman.
PEOPLE = {
    "Downey Jr., Robert": "m",
    "Evans, Chris": "m",
    "Black, Jack": "m",
    "Freeman, Timothy": "m",
    "Tim, Bert": "m",
    "Englund, Robert": "m",
    "Bell, Tobin": "m",
    "Bond, Samuel": "m",
    "Boehm, Andreas": "m",
    "Bogdanov, Timur": "m",
    "Jolie, Angelina": "f",
    "Andrews, Julie": "f",
    "Diaz, Angela": "f",
    "Anders, Angelica": "f",
    "Bertrand, Anna": "f",
    "Yokoyama, Yoko": "f",
    "Yoshida, Yoriko": "f",
    "Zellweger, Anna": "f",
    "Xiu, Angel": "f",
}


class Credit(NamedTuple):
    person: str
    character: str = ""
    note: str = ""
    role: str = ""

    @property
    def role_name(self) -> str:
        return self.role or ("actor" if PEOPLE[self.person] == "m" else "actress")


class Company(NamedTuple):
    name: str
    country: str
    # (distributors) or (production companies)
    type: str = "production companies"
    note: str = ""


class Landmark(NamedTuple):
    title: str
    year: int
    genres: str
    keywords: str
    companies: tuple[Company, ...]
    cast: tuple[Credit, ...] = ()
    # Release dates; a note may follow after a bar.
    releases: tuple[str, ...] = ()
    kind: str = "movie"
    country: str = "USA"
    # Tenths.
    rating: int = 75
    bottom_rank: int = 0
    # How it is linked to the landmark before it in this list, and how that one is linked to it.
    link: str = ""
    link_back: str = ""


DREAMWORKS = Company("DreamWorks Animation", "[us]")
MARVEL = Company("Marvel Studios", "[us]", note="(presents)")
LIONSGATE = Company("Lionsgate", "[us]", "distributors", "(2006) (USA) (theatrical)")
BLU_RAY = Company("Lionsgate Home Entertainment", "[us]", "distributors", "(2009) (USA) (Blu-ray)")
FOX_VIDEO = Company("20th Century Fox Home Entertainment", "[us]", "distributors", "(2005) (USA) (DVD)")
FOX = Company("Twentieth Century Fox Film Corporation", "[us]", "distributors", "(1990) (USA) (theatrical)")
WARNER = Company("Warner Bros.", "[us]")
SF = Company("Svensk Filmindustri (SF)", "[se]", "distributors", "(2003) (Sweden) (theatrical)")
TOEI = Company("Toei Animation", "[jp]", "distributors", "(2006) (Japan) (TV)")
TOEI_NEXT = Company("Toei Animation", "[jp]", "distributors", "(2007) (Japan) (theatrical)")
YOUTUBE = Company("YouTube", "[us]", "distributors", "(2008) (worldwide) (internet)")
CHANNEL_ONE = Company("Channel One Russia", "[ru]", "distributors", "(2009) (Russia) (TV)")
CONSTANTIN = Company("Constantin Film", "[de]")
ENDEMOL = Company("Endemol Entertainment", "[nl]")
RTL = Company("RTL 4", "[nl]", "distributors", "(2007) (Netherlands) (TV)")
VHS = Company("Gaumont", "[fr]", note="(1994) (USA) (VHS)")
STAGE = Company("Gaumont", "[fr]", note="(2007) (France) (theatrical)")


def released(company: Company, year: int, where: str = "USA", medium: str = "theatrical") -> Company:
    return Company(company.name, company.country, "distributors", f"({year}) ({where}) ({medium})")


STARK = Credit("Downey Jr., Robert", "Tony Stark / Iron Man")
VOICES = (
    Credit("Jolie, Angelina", "Tigress", "(voice)"),
    Credit("Black, Jack", "Po", "(voice)"),
    Credit("Diaz, Angela", "Queen", "(voice: English version)"),
)
FAR_FAR_AWAY = (
    Credit("Andrews, Julie", "Queen", "(voice)"),
    Credit("Anders, Angelica", "Queen", "(voice: English version)"),
    Credit("Zellweger, Anna", "Herself", "(voice) (uncredited)"),
    Credit("Yokoyama, Yoko", "Princess", "(voice: Japanese version)"),
)
HORROR_CREW = (
    Credit("Englund, Robert", "Freddy Krueger"),
    Credit("Bell, Tobin", "Jigsaw / John"),
    Credit("Freeman, Timothy", note="(producer)", role="producer"),
    Credit("Tim, Bert", note="(executive producer)", role="producer"),
    Credit("Bond, Samuel", note="(written by)", role="writer"),
    Credit("Tim, Bert", note="(story)", role="writer"),
    Credit("Bertrand, Anna", note="(writer)", role="writer"),
)
HEROES = "superhero marvel-comics based-on-comic fight violence marvel-cinematic-universe tv-special"
SLASHER = "murder violence blood gore death female-nudity hospital sequel murder-in-title"
MARTIAL = "hero martial-arts hand-to-hand-combat computer-animated-movie computer-animation talking-animal"

LANDMARKS = [
    Landmark("Iron Man", 2008, "Action Adventure Sci-Fi", HEROES, (MARVEL,), (STARK,), ("USA:2 May 2008",), rating=79),
    Landmark(
        "Iron Man 2",
        2010,
        "Action Adventure Sci-Fi",
        f"{HEROES} sequel second-part",
        (MARVEL,),
        (STARK,),
        ("USA:7 May 2010",),
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Iron Man 3",
        2013,
        "Action Adventure Sci-Fi",
        f"{HEROES} sequel third-part",
        (MARVEL,),
        (STARK, Credit("Evans, Chris", "Captain America / Ironman", "(uncredited)")),
        ("USA:3 May 2013", "Japan:26 April 2013"),
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Avengers: Age of Ultron",
        2015,
        "Action Adventure Sci-Fi",
        f"{HEROES} sequel",
        (MARVEL,),
        (STARK, Credit("Evans, Chris", "Steve Rogers / Captain America")),
        ("USA:1 May 2015",),
        link="references",
        link_back="referenced in",
    ),
    Landmark(
        "Kung Fu Panda",
        2008,
        "Animation Action Adventure",
        MARTIAL,
        (DREAMWORKS, released(DREAMWORKS, 2008)),
        VOICES,
        ("USA:6 June 2008", "Japan:26 July 2007"),
    ),
    Landmark(
        "Kung Fu Panda 2",
        2011,
        "Animation Action Adventure",
        f"{MARTIAL} sequel",
        (DREAMWORKS, released(DREAMWORKS, 2011)),
        VOICES,
        ("USA:26 May 2011", "Japan:19 August 2011"),
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Shrek",
        2001,
        "Animation Adventure Comedy",
        "computer-animation fairy-tale talking-animal",
        (DREAMWORKS, released(DREAMWORKS, 2001)),
        (FAR_FAR_AWAY[0], FAR_FAR_AWAY[2]),
        ("USA:16 May 2001",),
        rating=79,
    ),
    Landmark(
        "Shrek 2",
        2004,
        "Animation Adventure Comedy",
        "computer-animation sequel fairy-tale talking-animal",
        (DREAMWORKS, released(DREAMWORKS, 2004)),
        FAR_FAR_AWAY,
        ("USA:19 May 2004", "Japan:24 July 2004"),
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Saw II",
        2005,
        "Horror Thriller",
        SLASHER,
        (LIONSGATE, BLU_RAY),
        HORROR_CREW,
        ("USA:28 October 2005",),
        rating=66,
    ),
    Landmark(
        "Saw III",
        2006,
        "Horror Thriller",
        SLASHER,
        (LIONSGATE, BLU_RAY),
        HORROR_CREW,
        ("USA:27 October 2006",),
        rating=62,
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Freddy vs. Jason",
        2003,
        "Horror Thriller",
        SLASHER,
        (WARNER, BLU_RAY, released(LIONSGATE, 2003)),
        HORROR_CREW,
        ("USA:15 August 2003",),
        rating=58,
        link="references",
        link_back="referenced in",
    ),
    Landmark(
        "Vampire Murders",
        2012,
        "Horror",
        f"{SLASHER} vampire",
        (released(LIONSGATE, 2012), STAGE),
        HORROR_CREW,
        ("USA:12 October 2012", "Germany:3 January 2013"),
        rating=82,
    ),
    Landmark(
        "Das Mord-Haus",
        2011,
        "Thriller Horror",
        "murder murder-in-title blood violence",
        (CONSTANTIN, released(CONSTANTIN, 2009, "Germany", "TV")),
        (Credit("Boehm, Andreas", "Kommissar"), Credit("Bertrand, Anna", note="(writer)", role="writer")),
        ("Germany:9 June 2011", "USA:2 September 2011|(internet)"),
        country="Germany",
        rating=67,
    ),
    Landmark(
        "One Piece: The Golden Island",
        2006,
        "Animation Adventure",
        "anime based-on-manga fight",
        (TOEI, TOEI_NEXT),
        (
            Credit("Yokoyama, Yoko", "Nami", "(voice: English version)"),
            Credit("Yoshida, Yoriko", "Robin", "(voice: English version)"),
        ),
        ("Japan:4 March 2006",),
        country="Japan",
    ),
    Landmark(
        "Dragon Ball Z: The Last Warrior",
        2007,
        "Animation Action",
        "anime based-on-manga martial-arts",
        (TOEI, TOEI_NEXT),
        (Credit("Yoshida, Yoriko", "Chi-Chi", "(voice: English version)"),),
        ("Japan:10 March 2007", "USA:12 August 2008"),
        country="Japan",
    ),
    Landmark(
        "Birdemic: The Last Movie",
        2008,
        "Horror Thriller",
        "low-budget-film bird violence",
        (Company("Moviehead Pictures", "[us]", note="(presents)"), YOUTUBE),
        HORROR_CREW[2:6],
        ("USA:27 February 2009|(internet)",),
        rating=17,
        bottom_rank=2,
    ),
    Landmark(
        "Disaster of a Movie",
        2006,
        "Comedy",
        "parody satire number-in-title",
        (Company("Lionsgate", "[us]", note="(co-production)"), LIONSGATE, YOUTUBE),
        (Credit("Freeman, Timothy", note="(producer)", role="producer"),),
        ("USA:29 August 2006", "Germany:2 November 2006"),
        rating=19,
        bottom_rank=1,
    ),
    Landmark("Easy Money", 1996, "Comedy Crime", "money based-on-novel", (WARNER, FOX), (), ("USA:1 March 1996",)),
    Landmark(
        "More Money",
        1998,
        "Comedy Crime",
        "sequel revenge money",
        (WARNER, FOX_VIDEO, Company("Svensk Filmindustri (SF)", "[se]"), SF),
        (),
        ("USA:6 March 1998", "Sweden:1 April 1998"),
        country="Sweden",
        link="follows",
        link_back="followed by",
    ),
    Landmark("A Film About Berlin", 1994, "Drama", "based-on-novel sequel", (WARNER, FOX, VHS), country="Germany"),
    Landmark(
        "Another Film About Berlin",
        1998,
        "Drama",
        "sequel revenge character-name-in-title",
        (Company("Bavaria Film", "[de]"), released(WARNER, 1998)),
        country="Germany",
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "The Loner from Channel 12",
        2009,
        "Drama",
        "nerd loner alienation dignity",
        (YOUTUBE, CHANNEL_ONE, Company("Mosfilm", "[ru]")),
        (
            Credit("Bogdanov, Timur", "Newsreader", "(voice) (uncredited)"),
            Credit("Boehm, Andreas", "Himself", "(producer)"),
        ),
        ("USA:4 May 2009|(internet)", "Russia:14 May 2009"),
    ),
    Landmark(
        "Champions of Brooklyn",
        2007,
        "Drama Sport",
        "boxing murder blood violence",
        (WARNER, released(WARNER, 2007)),
        HORROR_CREW[3:],
        ("USA:14 September 2007|(internet)", "Japan:21 November 2007"),
        rating=83,
    ),
    Landmark(
        "Island of Fame",
        2004,
        "Reality-TV",
        "island",
        (Company("American Broadcasting Company (ABC)", "[us]", "distributors", "(2004) (USA) (TV)"),),
        kind="tv series",
        rating=27,
    ),
    Landmark(
        "Island of Fame: The Comeback",
        2007,
        "Reality-TV",
        "island sequel",
        (ENDEMOL, RTL),
        kind="tv series",
        rating=21,
        link="follows",
        link_back="followed by",
    ),
    Landmark(
        "Island of Fame: Amsterdam",
        2007,
        "Reality-TV",
        "island sequel",
        (ENDEMOL, RTL),
        kind="tv series",
        country="Netherlands",
        rating=24,
        link="follows",
        link_back="followed by",
    ),
]

assert all(any(country.name == landmark.country for country in COUNTRIES) for landmark in LANDMARKS)
