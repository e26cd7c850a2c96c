"""Words and names that the generator draws from, and the benchmark's fixed tables.

Lists are ordered by how often their members are drawn, most frequent first, unless weights stand beside them.
"""

from typing import NamedTuple

# --- the fixed tables, in the order of their ids ---

KINDS = ["movie", "tv series", "tv movie", "video movie", "tv mini series", "video game", "episode"]
ROLES = [
    "actor",
    "actress",
    "producer",
    "writer",
    "cinematographer",
    "composer",
    "costume designer",
    "director",
    "editor",
    "miscellaneous crew",
    "production designer",
    "guest",
]
COMPANY_TYPES = ["distributors", "production companies", "special effects companies", "miscellaneous companies"]
CAST_TYPES = ["cast", "crew", "complete", "complete+verified"]
LINKS = (
    "follows;followed by;remake of;remade as;references;referenced in;spoofs;spoofed in;features;featured in;"
    "spin off from;spin off;version of;similar to;edited into;edited from;alternate language version of;unknown link"
).split(";")
INFO_TYPES = (
    "runtimes;color info;genres;languages;certificates;sound mix;tech info;countries;taglines;keywords;"
    "alternate versions;crazy credits;goofs;soundtrack;quotes;release dates;trivia;locations;mini biography;"
    "birth notes;birth date;height;death date;spouse;other works;birth name;salary history;nick names;books;"
    "agent address;biographical movies;portrayed in;where now;trade mark;interviews;article;magazine cover photo;"
    "pictorial;death notes;LD disc format;LD year;LD digital sound;LD official retail price;LD frequency response;"
    "LD pressing plant;LD length;LD language;LD review;LD spaciality;LD release date;LD production country;"
    "LD contrast;LD color rendition;LD picture format;LD video noise;LD video artifacts;LD release country;"
    "LD sharpness;LD dynamic range;LD audio noise;LD color information;LD group genre;LD quality program;"
    "LD close captions-teletext-ld-g;LD category;LD analog left;LD certification;LD audio quality;LD video quality;"
    "LD aspect ratio;LD analog right;LD additional information;LD number of chapter stops;"
    "LD dialogue intellegibility;LD disc size;LD master format;LD subtitles;LD status of availablility;"
    "LD quality of source;LD number of sides;LD video standard;LD supplement;LD original title;LD sound encoding;"
    "LD number;LD label;LD catalog number;LD laserdisc title;screenplay-teleplay;novel;adaption;book;"
    "production process protocol;printed media reviews;essays;other literature;mpaa;plot;votes distribution;votes;"
    "rating;production dates;copyright holder;filming dates;budget;weekend gross;gross;opening weekend;rentals;"
    "admissions;studios;top 250 rank;bottom 10 rank"
).split(";")


# --- where titles and people come from ---


class Country(NamedTuple):
    name: str
    code: str
    language: str
    # What people and titles from there are called like, see `CULTURES`.
    culture: str
    # Share of titles, in a hundred.
    weight: float


COUNTRIES = [
    Country("USA", "[us]", "English", "english", 37),
    Country("UK", "[gb]", "English", "english", 9),
    Country("Germany", "[de]", "German", "german", 6),
    Country("France", "[fr]", "French", "french", 6),
    Country("Japan", "[jp]", "Japanese", "japanese", 5),
    Country("Canada", "[ca]", "English", "english", 4.5),
    Country("India", "[in]", "Hindi", "indian", 4),
    Country("Italy", "[it]", "Italian", "latin", 3.5),
    Country("Spain", "[es]", "Spanish", "latin", 3),
    Country("Mexico", "[mx]", "Spanish", "latin", 2.2),
    Country("Brazil", "[br]", "Portuguese", "latin", 2),
    Country("Australia", "[au]", "English", "english", 2),
    Country("Netherlands", "[nl]", "Dutch", "german", 1.7),
    Country("Sweden", "[se]", "Swedish", "nordic", 1.7),
    Country("Argentina", "[ar]", "Spanish", "latin", 1.3),
    Country("Hong Kong", "[hk]", "Cantonese", "chinese", 1.2),
    Country("Denmark", "[dk]", "Danish", "nordic", 1.1),
    Country("Philippines", "[ph]", "Tagalog", "latin", 1),
    Country("Belgium", "[be]", "Dutch", "french", 1),
    Country("Finland", "[fi]", "Finnish", "nordic", 0.9),
    Country("Norway", "[no]", "Norwegian", "nordic", 0.8),
    Country("Poland", "[pl]", "Polish", "slavic", 0.8),
    Country("Russia", "[ru]", "Russian", "slavic", 0.9),
    Country("Soviet Union", "[suhh]", "Russian", "slavic", 0.6),
    Country("Austria", "[at]", "German", "german", 0.7),
    Country("China", "[cn]", "Mandarin", "chinese", 0.7),
    Country("South Korea", "[kr]", "Korean", "chinese", 0.7),
    Country("Switzerland", "[ch]", "German", "german", 0.6),
    Country("Greece", "[gr]", "Greek", "latin", 0.6),
    Country("Turkey", "[tr]", "Turkish", "indian", 0.6),
    Country("Portugal", "[pt]", "Portuguese", "latin", 0.6),
    Country("Ireland", "[ie]", "English", "english", 0.5),
    Country("Czech Republic", "[cz]", "Czech", "slavic", 0.5),
    Country("Hungary", "[hu]", "Hungarian", "slavic", 0.5),
    Country("Bulgaria", "[bg]", "Bulgarian", "slavic", 0.3),
    Country("Romania", "[ro]", "Romanian", "latin", 0.3),
    Country("Israel", "[il]", "Hebrew", "german", 0.3),
    Country("New Zealand", "[nz]", "English", "english", 0.3),
    Country("South Africa", "[za]", "English", "english", 0.3),
    Country("San Marino", "[sm]", "Italian", "latin", 0.02),
]


class Culture(NamedTuple):
    """First names, beginnings and ends of surnames, and what titles begin with; words have spaces between them."""

    men: str
    women: str
    surnames: str
    begins: str
    ends: str
    openers: list[str]


CULTURES = {
    "english": Culture(
        "John David Michael James Robert William Paul Richard Peter Mark Tom George Steve Chris Tim Jack Joe Bob Jim "
        "Charles Brian Kevin Daniel Frank Andrew Matt Scott Eric Harry Anthony Ryan Stephen Jeff Ben Sam Alan Bill "
        "Adam Larry Tony Timothy Albert Bert Angus Dean Howard Zachary Xander Leonard Robin Bernard Walter Quentin",
        "Mary Jennifer Susan Lisa Karen Elizabeth Sarah Nancy Laura Linda Barbara Julie Anne Michelle Amy Kate Helen "
        "Angela Emma Jane Amanda Jessica Angelina Anna Andrea Alice Joan Betty Patricia Catherine Diane Rachel Grace "
        "Angie Angelica Anita Bertha Carol Dorothy Ruth Sharon Victoria Wendy Zoe Yolanda Olivia Annette Christine",
        "Smith Johnson Williams Brown Jones Miller Davis Wilson Taylor Anderson Thomas Moore Martin White Thompson "
        "Clark Lewis Walker Hall Allen Young King Wright Scott Green Baker Adams Nelson Carter Mitchell Bell Cooper "
        "Bailey Bennett Brooks Butler Bryant Barnes Boyd Fox Stone Hunter Graham West Yates Zimmer Xavier Quinn",
        "Black Green Hart Ash Brad Cald Dun Elling Far Gar Had Kel Lang Mar Nor Oak Pem Rad Shel Thorn Under Wal Whit "
        "York Bever Clay Ever Hol Lind Stan Wood Win Hamil Ander Robert Richard Peter Bert Abbot Col Dal",
        "son ton ford ley wood man well field ham worth ing by bury ridge more land stone ers wick shaw er den brook",
        ["", "", "", "The ", "The ", "One ", "My ", "This Is ", "An Evening with ", "Return of the "],
    ),
    "german": Culture(
        "Hans Peter Klaus Wolfgang Michael Thomas Karl Werner Heinz Kurt Andreas Stefan Jürgen Frank Günter Otto Jan "
        "Bernd Uwe Rolf Dieter Volker Axel Ernst Georg Max Martin Ulrich Willem Pieter Joost Bertold Tim Christoph",
        "Anna Maria Petra Sabine Monika Andrea Ursula Karin Christine Claudia Ingrid Renate Barbara Katharina Angela "
        "Hannelore Birgit Susanne Gisela Heike Eva Angelika Anja Antje Marijke Saskia Johanna Berta Ute Anke",
        "Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Hoffmann Schulz Koch Bauer Richter Klein Wolf "
        "Schröder Neumann Schwarz Zimmermann Braun Krüger Hofmann Hartmann Lange Werner Krause Boehm Zeller de~Vries "
        "Jansen van~Dijk Bakker Visser Bruckner Brandt Berger Böhm Ziegler Xaver",
        "Alten Baum Berg Brand Dorn Eber Eisen Falken Fried Grün Hart Hassel Hirsch Kauf Kirch Lind Morgen Neu Ober "
        "Rosen Schön Stein Stern Strauch Tannen Vogel Wald Wein Weiss Winter Wolf Zucker",
        "berg mann feld stein bach hof bauer hauer meier er thal burg wald haus hausen brecht dorf ler heim",
        ["", "", "Der ", "Die ", "Das ", "Mein ", "Ein ", "Tatort: ", "Im ", "Mord im "],
    ),
    "french": Culture(
        "Jean Pierre Michel Philippe Alain Bernard Jacques Claude François Daniel Patrick Christian André Marc Louis "
        "Henri Robert Georges Paul Gérard Guy Laurent Nicolas Olivier Bertrand Christophe Antoine Xavier Yves Albert",
        "Marie Anne Catherine Isabelle Nathalie Sophie Françoise Monique Christine Michèle Jeanne Sylvie Brigitte "
        "Juliette Claire Hélène Annie Valérie Camille Charlotte Angélique Andrée Danielle Yvonne Geneviève",
        "Martin Bernard Dubois Durand Moreau Laurent Simon Michel Lefebvre Leroy Roux Bertrand Morel Fournier Girard "
        "Bonnet Dupont Lambert Fontaine Rousseau Blanc Guérin Boyer Garnier Chevalier Benoît Bourgeois Zidi",
        "Beau Belle Bois Bon Bour Cha Char Clair Cour Des Du Fon Gar Gir Gran La Lan Le Mal Mar Mon Mor Per Ro Sau Ver",
        "mont ville court champ bert don neau rier let lin nay quet rand reau rel ron roux sard teau tier vet",
        ["", "", "La ", "Le ", "Les ", "L'amour, ", "Une ", "Mon ", "Un ", "Au "],
    ),
    "latin": Culture(
        "José Juan Carlos Luis Antonio Miguel Jorge Pedro Francisco Manuel Roberto Mario Paolo Giuseppe Giovanni "
        "Franco Marco Alberto Sergio Fernando Ricardo Rafael Eduardo Angelo Bruno Enrico Vittorio Jesús Alberto Tino",
        "María Ana Carmen Laura Rosa Isabel Sofia Paola Giulia Francesca Anna Lucia Elena Claudia Patricia Silvia "
        "Angela Angelica Teresa Beatriz Mercedes Adriana Gabriela Daniela Ángeles Raquel Yolanda Norma Bianca Berta",
        "García Rodríguez González Hernández López Martínez Pérez Sánchez Ramírez Torres Rossi Ferrari Russo Bianchi "
        "Romano Silva Santos Oliveira Souza Pereira Costa Ferreira Díaz Cruz Reyes Morales Ortiz Gómez Zapata Ximénez",
        "Al Bar Ben Bol Cal Cam Can Car Cas Del Es Fer Gal Gir Gon Lan Mal Man Mar Mon Mor Pal Per Ros Sal San Val Vil",
        "ado ano ardo ari ato aza bella co dez do ello era ero etti gado ia illa ini ino lli mera oni osa tos ucci",
        ["", "", "El ", "La ", "Il ", "Los ", "O ", "Una ", "Mi ", "La vida de "],
    ),
    "nordic": Culture(
        "Lars Anders Per Jan Erik Nils Ole Hans Bo Jens Karl Mats Stefan Björn Sven Peter Henrik Mikael Juha Matti "
        "Thomas Gustaf Leif Bent Jørgen Tor Arne Kari Antti Bertil Kurt Rolf Magnus",
        "Anna Eva Lena Karin Maria Kristina Birgitta Inger Marie Anne Kirsten Hanne Lotta Annika Ulla Britt Liv Gunnel "
        "Sofia Helena Tuula Ritva Anita Bente Astrid Solveig Angelika Susanne Berit",
        "Andersson Johansson Karlsson Nilsson Eriksson Larsson Olsson Persson Svensson Hansen Jensen Nielsen Pedersen "
        "Andersen Larsen Berg Lindberg Bergman Bergström Virtanen Korhonen Mäkinen Bjørk Zetterlund",
        "Ahl Berg Björk Blom Dahl Ek Eng Fors Gran Hag Hed Holm Kall Lind Lund Mal Ny Palm Rosen Sand Sjö Söder Väst",
        "berg ström gren qvist lund dahl man sson sen kvist mark stedt vik by nen la feldt ell",
        ["", "", "", "Den ", "Det ", "En ", "Min ", "De ", "Mordet på ", "I "],
    ),
    "slavic": Culture(
        "Aleksandr Sergei Vladimir Andrei Ivan Mikhail Dmitri Nikolai Aleksei Yuri Viktor Oleg Jan Piotr Tomasz "
        "Pavel Jirí Georgi Stefan Boris Igor Yevgeni Anatoli Zoltán Bogdan Konstantin Timur",
        "Anna Irina Tatyana Yelena Olga Natalya Svetlana Lyudmila Nina Galina Mariya Anastasiya Yekaterina Barbara "
        "Agnieszka Ewa Jana Hana Angelina Angelika Vera Zofia Yuliya Yordanka Bozena Lidia",
        "Ivanov Petrov Smirnov Kuznetsov Popov Sokolov Morozov Volkov Kowalski Nowak Wisniewski Novák Svoboda Dimitrov "
        "Georgiev Nagy Szabó Zaitsev Bogdanov Belov Zielinski Borisov Fyodorov",
        "Alek Bel Bog Bor Chern Dobr Gol Grig Ivan Kal Kor Koz Kras Leb Mikh Nik Orl Pav Pol Rom Sav Sem Tik Vas Zah",
        "ov ev in enko sky ski ovich yev ova nik uk ak ek ko skaya chuk",
        ["", "", "", "Moya ", "Posledniy ", "Dvoye i ", "Delo ", "Noch ", "Ostatni ", "Doroga na "],
    ),
    "japanese": Culture(
        "Takashi Hiroshi Kenji Akira Toshio Yoshio Kazuo Masao Ken Makoto Shigeru Isamu Tetsuya Yoji Yosuke Yuji Koji "
        "Minoru Tadashi Osamu Daisuke Ryo Jun Sho Naoki Yoshiro Tsutomu Hideo",
        "Yoko Keiko Yoshiko Kumiko Akiko Noriko Michiko Yumi Ayako Junko Kyoko Mayumi Megumi Sachiko Naoko Yuko Rie "
        "Kazue Yoriko Mariko Tomoko Etsuko Anri Angela Reiko Emi Satomi Yoshie",
        "Sato Suzuki Takahashi Tanaka Watanabe Ito Yamamoto Nakamura Kobayashi Kato Yoshida Yamada Sasaki Yamaguchi "
        "Matsumoto Inoue Kimura Hayashi Shimizu Saito Mori Ikeda Abe Hashimoto Yokoyama Ando",
        "Aki Asa Fuji Fuku Haya Hira Ima Iwa Kawa Kita Kuro Matsu Miya Mori Naka Nishi Oka Saka Shima Taka Toku Yama "
        "Yoko Yoshi Ishi Hama Kuni",
        "da hara i kawa ki ko machi matsu moto mura no oka saki shima shita ta tani uchi yama zaki zawa be gawa",
        ["", "", "", "", "Shin ", "Zoku ", "Dai ", "Kaiketsu ", "Hana no ", "Otoko wa "],
    ),
    "indian": Culture(
        "Raj Anil Sanjay Vijay Ravi Rajesh Ashok Amit Sunil Mohan Prem Kumar Ajay Rahul Arjun Mehmet Ali Ahmet Mustafa "
        "Dev Om Rajendra Shankar Suresh Ramesh Bharat Kiran Zakir",
        "Asha Lata Rekha Sunita Meena Anita Priya Kavita Radha Jaya Shanti Neeta Kamini Padma Ayse Fatma Anjali Angana "
        "Hema Madhuri Rani Sridevi Usha Zeenat Bindu Aishwarya",
        "Khan Kumar Sharma Singh Kapoor Patel Gupta Rao Chopra Reddy Das Menon Nair Bose Yilmaz Kaya Demir Bachchan "
        "Mehra Malhotra Banerjee Bhatt Zaidi",
        "Aga Bala Bhar Chand Deva Gan Gop Hari Jag Kal Krish Lal Mad Maha Nara Pra Raj Ram Sat Shan Sub Sur Ven Vish",
        "an anti ar at dra endra esh ish kar kumar ma mani mohan nath pal rao shan thy war wala",
        ["", "", "", "Mera ", "Meri ", "Ek ", "Do ", "Hum ", "Dil ", "Pyar ka "],
    ),
    "chinese": Culture(
        "Wei Jun Ming Hao Lei Feng Gang Jian Ping Bo Kar-Wai Siu-Ming Chi-Wai Kwok-Wing Tak-Wah Jackie Andy Tony Simon "
        "Sammo Min-ho Jin-young Sang-hun Tim Xin Yong Zhi",
        "Li Mei Fang Yan Xia Hong Ling Ying Na Qing Maggie Angela Anita Angie Cherie Ji-young Soo-jin Hye-jin Yoon-ah "
        "Xiu Yun Zhen Anna Michelle Brigitte",
        "Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo Lin He Gao Luo Chan Wong Lee Cheung Lau "
        "Leung Ng Kim Park Choi Yoon Xie Xiong Yu Bai Bao",
        "Au Bo Chan Chow Fong Gu Han Ho Kwan Lam Lo Mok Ngai Pang Shum Sze Tam Tong Tsui Wan Xia Yeung Yip Yuen Zeng",
        "-Chi -Fai -Ho -Kei -Lam -Man -Sang -Shing -Wa -Wing -Yan -Yee",
        ["", "", "", "", "Xin ", "Da ", "Kung Fu ", "Long ", "Hong ", "Ngo "],
    ),
}

# --- titles ---

GENRES = {
    # Share of titles whose first genre it is, and the mean rating of those.
    "Drama": (19, 6.8),
    "Comedy": (15, 6.4),
    "Documentary": (13, 7.3),
    "Short": (11, 6.7),
    "Reality-TV": (5, 6.2),
    "Talk-Show": (4, 6.1),
    "Action": (4, 6.0),
    "Crime": (4, 6.7),
    "Animation": (4, 6.8),
    "Family": (3, 6.4),
    "Horror": (2.5, 5.0),
    "Thriller": (2.5, 5.9),
    "Romance": (2.5, 6.3),
    "Adult": (2, 6.1),
    "Adventure": (2, 6.3),
    "Music": (2, 6.9),
    "Game-Show": (2, 6.2),
    "Sci-Fi": (1.2, 5.9),
    "Western": (1.1, 6.2),
    "Fantasy": (1, 6.4),
    "Mystery": (1, 6.6),
    "Sport": (1, 6.5),
    "News": (1, 6.4),
    "History": (0.7, 7.0),
    "War": (0.7, 6.7),
    "Musical": (0.6, 6.3),
    "Biography": (0.5, 7.0),
    "Film-Noir": (0.1, 6.8),
}
# What goes along with a first genre; other second genres are drawn like first ones.
COMPANION_GENRES = {
    "Drama": "Romance Crime War",
    "Comedy": "Romance Family Drama",
    "Documentary": "Biography History Music",
    "Short": "Drama Comedy Animation",
    "Action": "Adventure Crime Thriller Sci-Fi",
    "Crime": "Drama Mystery Thriller",
    "Animation": "Family Adventure Comedy Fantasy",
    "Family": "Comedy Adventure",
    "Horror": "Thriller Sci-Fi Mystery",
    "Thriller": "Drama Crime Horror",
    "Romance": "Drama Comedy",
    "Adventure": "Action Fantasy Sci-Fi",
    "Sci-Fi": "Action Horror Thriller",
    "Western": "Action Drama",
    "Fantasy": "Adventure Animation",
    "Mystery": "Crime Thriller",
    "War": "Drama Action History",
}

NOUNS = (
    "Love Night Man Life Day House Girl World Time Heart Boy Story Woman Death Dream Road Murder City Money War Game "
    "Wedding River Fire Summer Moon Star Family Secret Island Home Mother Father Brother Sister Champion Loser Vampire "
    "Ghost Devil Angel King Queen Prince Hero Stranger Hunter Killer Doctor Soldier Teacher Driver Dancer Singer "
    "Detective Witness Thief Widow Bride Shadow Light Storm Winter Garden Forest Mountain Desert Ocean Bridge Train "
    "Ship Castle Prison School Hospital Hotel Street Market Movie Circus Party Holiday Christmas Sunday Monday Friday "
    "Morning Midnight Tomorrow Yesterday Blood Bone Eye Hand Kiss Promise Lie Truth Honor Revenge Justice Mercy Luck "
    "Fortune Diamond Gold Silver Letter Song Music Dance Race Chase Escape Return Journey Voyage Adventure Quest "
    "Legend Myth Monster Dragon Wolf Tiger Lion Eagle Snake Spider Cat Dog Horse Bird Robot Alien Planet Galaxy "
    "Machine Weapon Gun Knife Bullet Bomb Crime Trial Judge Lawyer Mord Liebe Nacht Amour Vida Casa Muerte Panda"
).split()
ADJECTIVES = (
    "Last Big Little Black White New Lost Dead Secret Good Bad Young Old Red Blue Golden Silent Dark Wild Beautiful "
    "Crazy Broken Hidden Perfect Strange Sweet Bitter Cold Hot Lonely Happy Sad Brave Blind Holy Royal Final First "
    "Second Third Long Short Lucky Dangerous Deadly Bloody Burning Frozen Forgotten Forbidden Invisible Immortal "
    "Innocent Guilty Honest Modern Ancient Private Public American German Swedish French Russian Magic Electric"
).split()
PLACES = "Paris London New~York Tokyo Berlin Rome Hollywood Vienna Texas Moscow Venice Brooklyn Stockholm Mars".split()

# --- keywords: the genre that they go along with, most frequent first; "" for any ---

KEYWORDS = {
    "": (
        "character-name-in-title independent-film number-in-title based-on-novel sequel death love sex friendship "
        "family-relationships female-nudity flashback father-son-relationship one-word-title hospital revenge "
        "second-part telephone-call dog tv-special title-spoken-by-character police-officer party dancing husband-wife "
        "new-york-city brother-sister-relationship third-part fourth-part sequel-to-cult-favorite sequel-baiting "
        "alienation dignity loner nerd web laser magnet claw remake money kiss cigarette-smoking bare-chested-male"
    ),
    "Horror": "blood gore murder vampire zombie female-nudity death violence killer slasher monster scream knife",
    "Crime": "murder police gangster murder-in-title violence detective robbery blood investigation corruption",
    "Thriller": "murder violence blood suspense death kidnapping conspiracy hostage shot-in-the-chest serial-killer",
    "Action": (
        "fight violence martial-arts hero hand-to-hand-combat superhero based-on-comic explosion marvel-comics "
        "shootout revenge car-chase laser kung-fu based-on-comic-book blood death magnet web claw"
    ),
    "Sci-Fi": "alien robot superhero future laser space outer-space based-on-comic spaceship marvel-comics time-travel",
    "Adventure": "hero fight superhero based-on-comic treasure island rescue sword hand-to-hand-combat marvel-comics",
    "Animation": (
        "computer-animation anime hero martial-arts computer-animated-movie talking-animal fairy-tale superhero "
        "based-on-comic fight surrealism hand-to-hand-combat based-on-manga"
    ),
    "Drama": "based-on-novel family-relationships hospital love alienation suicide marriage loner mother-son",
    "Comedy": "satire parody nerd slapstick sitcom friend title-spoken-by-character loner stand-up-comedy buddy",
    "Documentary": "interview history politics art behind-the-scenes nature music-documentary dignity",
    "War": "soldier world-war-two violence battle death military blood",
    "Romance": "love wedding kiss marriage romantic-comedy falling-in-love",
    "Family": "tv-special christmas dog children based-on-children's-book fairy-tale talking-animal",
    "Adult": "hardcore female-nudity sex blonde lesbian nudity",
}
# Only where a landmark has them.
RARE_KEYWORDS = ["marvel-cinematic-universe", "10,000-mile-club"]

# --- companies: name and country; others are drawn from words ---

COMPANIES = {
    "[us]": [
        "Warner Bros.",
        "Universal Pictures",
        "Paramount Pictures",
        "Columbia Pictures",
        "Metro-Goldwyn-Mayer (MGM)",
        "Twentieth Century Fox Film Corporation",
        "National Broadcasting Company (NBC)",
        "Columbia Broadcasting System (CBS)",
        "American Broadcasting Company (ABC)",
        "20th Century Fox Television",
        "20th Century Fox Home Entertainment",
        "Warner Home Video",
        "Warner Bros. Television",
        "Walt Disney Pictures",
        "New Line Cinema",
        "Lionsgate",
        "Lionsgate Home Entertainment",
        "YouTube",
        "Netflix",
        "DreamWorks Animation",
        "Marvel Studios",
        "Twentieth Century Fox Home Entertainment",
        "Home Box Office (HBO)",
        "American Film Institute (AFI)",
    ],
    "[gb]": ["British Broadcasting Corporation (BBC)", "Warner Bros. Pictures", "Hammer Film Productions", "ITV"],
    "[de]": ["ARD", "Zweites Deutsches Fernsehen (ZDF)", "Constantin Film", "Bavaria Film", "Warner Home Video"],
    "[fr]": ["Gaumont", "Pathé Frères", "Canal+", "StudioCanal", "Film Office"],
    "[jp]": ["Toei Animation", "Toho Company", "Fuji Television Network", "Nippon Television Network (NTV)"],
    "[nl]": ["Endemol Entertainment", "RTL 4", "Nederlandse Film Compagnie"],
    "[se]": ["Svensk Filmindustri (SF)", "Sveriges Television (SVT)", "Svenska Filminstitutet (SFI)"],
    "[dk]": ["Nordisk Film", "Danmarks Radio (DR)", "Det Danske Filminstitut"],
    "[no]": ["Norsk Film", "Norsk Rikskringkasting (NRK)"],
    "[ru]": ["Mosfilm", "Channel One Russia", "Karo Film"],
    "[suhh]": ["Mosfilm", "Lenfilm Studio"],
    "[pl]": ["Film Polski", "Telewizja Polska (TVP)"],
    "[sm]": ["San Marino RTV"],
}
COMPANY_ENDS = (
    "Productions Films Film Pictures Entertainment Television Media Filmproduktion Studios Video Home~Entertainment "
    "Releasing Distribution Cinema Broadcasting Film~Company Animation Group International Works"
).split()

# --- characters ---

CHARACTERS = (
    "Himself;Herself;Narrator;Host;Himself - Host;Dancer;Additional Voices;Doctor;Nurse;Policeman;Waiter;Themselves;"
    "Police Officer;Soldier;Reporter;Bartender;Waitress;Student;Singer;Extra;Mother;Father;Guard;Queen;Woman;Man;Girl;"
    "Boy;Cop;King;Priest;Judge;Teacher;Driver;Prostitute;Old Man;Old Woman;Secretary;Detective;Sherlock Holmes;"
    "Dr. Watson;Dracula;Santa Claus;Batman;Spider-Man;Superman;Man in Bar;Young Man;Wolfman;Postman;Fisherman;"
    "Newspaperman;Mailman;Fireman;Gunman;Henchman;Businessman;Salesman;Jesus;Napoleon;Hamlet;Juliet;Romeo;Maria;"
    "Anna;John;Tom;Jack;Peter;Mary;Sarah;Frank;Joe;Sam;Eva;Lisa;Paul"
).split(";")
CHARACTER_TITLES = ["", "", "", "", "", "", "Dr. ", "Mrs. ", "Mr. ", "Officer ", "Captain ", "Lady ", "Detective "]

# --- notes ---

# Of actors and actresses: note and weight; "" is NULL.
ACTING_NOTES = {
    "": 640,
    "(uncredited)": 130,
    "(archive footage)": 30,
    "(voice)": 25,
    "(credit only)": 20,
    "(as Bob Smith)": 12,
    "(as Mary Jones)": 8,
    "(unconfirmed)": 3,
    "(scenes deleted)": 5,
    '(segment "Die Nacht")': 2,
    "(voice) (uncredited)": 4,
    "(singing voice)": 3,
    "(voice: English version)": 2,
    "(also archive footage)": 2,
    "(producer)": 0.4,
}
# The same in animation.
VOICE_NOTES = {
    "(voice)": 600,
    "": 100,
    "(voice: English version)": 110,
    "(voice) (uncredited)": 40,
    "(voice: Japanese version)": 40,
    "(voice: German version)": 20,
    "(voice) (as Bob Smith)": 10,
    "(uncredited)": 20,
}
CREW_NOTES = {
    "producer": {
        "(producer)": 400,
        "(executive producer)": 220,
        "(associate producer)": 80,
        "(co-producer)": 80,
        "(line producer)": 50,
        "(supervising producer)": 50,
        "(co-executive producer)": 40,
        "(segment producer)": 20,
        "": 60,
    },
    "writer": {
        "(writer)": 260,
        "(written by)": 180,
        "(screenplay)": 120,
        "": 200,
        "(story)": 60,
        "(story editor)": 20,
        "(head writer)": 25,
        "(novel)": 40,
        "(creator)": 40,
        "(characters)": 10,
        "(play)": 20,
        "(dialogue)": 25,
    },
    "cinematographer": {"(director of photography)": 200, "": 700, "(uncredited)": 20},
    "composer": {"": 800, "(uncredited)": 60, "(stock music)": 20},
    "costume designer": {"": 900, "(costumes)": 30, "(as Mary Jones)": 10},
    "director": {"": 850, "(co-director)": 50, "(uncredited)": 30, '(segment "Die Nacht")': 5},
    "editor": {"": 850, "(supervising editor)": 40, "(uncredited)": 20},
    "miscellaneous crew": {
        "(production assistant)": 200,
        "(special thanks)": 120,
        "(stunts)": 100,
        "(production manager)": 80,
        "(script supervisor)": 60,
        "(production coordinator)": 60,
        "(thanks)": 40,
        "": 60,
    },
    "production designer": {"": 950, "(uncredited)": 10},
    "guest": {"": 1000},
}
PRODUCTION_NOTES = {
    "": 770,
    "(co-production)": 55,
    "(presents)": 45,
    "(in association with)": 40,
    "(as Metro-Goldwyn-Mayer Pictures)": 4,
    "(as Metro-Goldwyn-Mayer Pictures) (presents)": 2,
    "(as Warner Bros. Pictures) (presents)": 4,
    "(produced by)": 15,
    "(a production of)": 10,
    "(co-production) (as Studio Film)": 4,
    "(in co-production with)": 12,
    "(production)": 10,
}
MEDIA = {"(TV)": 40, "(theatrical)": 20, "(DVD)": 20, "(VHS)": 9, "(all media)": 5, "(Blu-ray)": 4, "(video)": 2}
RELEASE_NOTES = {
    "": 560,
    "(premiere)": 70,
    "(limited)": 60,
    "(DVD premiere)": 60,
    "(internet)": 12,
    "(re-release)": 30,
    "(TV premiere)": 20,
    "(Cannes Film Festival)": 20,
    "(Berlin International Film Festival)": 15,
    "(New York City, New York)": 25,
    "(Los Angeles, California) (premiere)": 20,
    "(internet) (limited)": 2,
}
# Who writes mini biographies; "" is NULL.
BIOGRAPHERS = (
    "Anonymous;;Volker Boehm;Pedro Borges;Jim Beaver;Hans Kaiser;Steve Shelokhonov;Jon C. Hopwood;Guy Bellinger;"
    "Gary Brumburgh;Tom Harley;A. Nonymous;Maria Lopez;frankfan;Bob Weaver;Ed Stephan;Kathy Li"
).split(";")
ALTERNATIVE_TITLE_NOTES = (
    ";(USA);(Germany);(working title);(International: English title);(France);(Japan);(UK);(Brazil);(Italy);"
    "(Sweden) (TV title);(alternative title);(Spain);(India: Hindi title);(original title)"
).split(";")

MONTHS = (
    "January February March April May June July August September October November December"
).split()
CERTIFICATES = (
    "USA:R;USA:PG-13;UK:15;Germany:12;USA:Not Rated;Sweden:15;UK:18;Germany:16;Finland:K-16;USA:TV-14;Australia:M;"
    "France:U;Netherlands:12;USA:TV-PG;Norway:15;Iceland:16;USA:Approved;Germany:18;UK:PG;Japan:R-15"
).split(";")
SOUND_MIXES = "Stereo;Mono;Dolby Digital;Silent;Dolby;DTS;SDDS;Dolby SR;Ultra Stereo;THX".split(";")
TECHNOLOGIES = (
    "RAT:1.85 : 1;RAT:1.33 : 1;OFM:35 mm;PFM:35 mm;OFM:Video;CAM:Arriflex Cameras;RAT:1.78 : 1;PCS:Spherical;"
    "LAB:Technicolor;RAT:2.35 : 1;OFM:16 mm;PFM:Video;MET:2400 m;PCS:Digital Intermediate;CAM:Red One Camera;"
    "LAB:DeLuxe;PFM:Digital;OFM:Digital;PCS:Panavision;CAM:Panavision Panaflex"
).split(";")
LOCATIONS = (
    "Los Angeles, California, USA;New York City, New York, USA;London, England, UK;Paris, France;Berlin, Germany;"
    "Toronto, Ontario, Canada;Vancouver, British Columbia, Canada;Rome, Lazio, Italy;Stockholm, Sweden;Tokyo, Japan;"
    "Universal Studios, Universal City, California, USA;Madrid, Spain;Copenhagen, Denmark;Sydney, Australia;"
    "Mumbai, Maharashtra, India;Hong Kong, China;Oslo, Norway;Prague, Czech Republic;Moscow, Russia;Sofia, Bulgaria"
).split(";")
RATED = "Rated R for violence;Rated PG-13 for language;Rated R for blood and gore;Rated PG".split(";")
# What long texts consist of.
PHRASES = (
    "the director;an old friend;the hero's mother;a stranger from the north;the whole crew;her younger sister;"
    "the camera operator;one of the producers;a retired policeman;the singer;nobody in town;the second unit"
).split(";")
VERBS = (
    "is seen in;never forgets;has to leave;finally discovers;was replaced by;can be heard before;falls in love with;"
    "tells a story about;was filmed behind;hides from;remembers;asks for"
).split(";")
OBJECTS = (
    "the old house by the river.;a letter from Vienna.;the last scene, which took nine days to film.;his own shadow.;"
    "a murder that nobody has seen.;the blue car from the opening.;a party in Berlin.;the money.;an empty train.;"
    "two tickets to the sea.;what the doctor said.;a song of the thirties.;the wrong door.;her mother's wedding."
).split(";")
