-- What goes along with superheroes: every keyword of theirs with every other of the same title.
SELECT other.keyword, count(*) AS titles
FROM keyword hero
JOIN movie_keyword mk ON mk.keyword_id = hero.id
JOIN movie_keyword mk_other ON mk_other.movie_id = mk.movie_id
JOIN keyword other ON other.id = mk_other.keyword_id
WHERE hero.keyword IN ('superhero', 'based-on-comic', 'marvel-comics') AND other.id <> hero.id
GROUP BY other.keyword
ORDER BY titles DESC, other.keyword
LIMIT 25
