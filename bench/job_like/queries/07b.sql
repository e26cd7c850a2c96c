-- Old men of silent film: what is known of people, and of their films.
SELECT n.gender, count(*) AS rows, min(n.name) AS name, max(t.production_year) AS last_year
FROM person_info pi
JOIN info_type it ON it.id = pi.info_type_id
JOIN name n ON n.id = pi.person_id
JOIN cast_info ci ON ci.person_id = n.id
JOIN title t ON t.id = ci.movie_id
JOIN movie_info mi ON mi.movie_id = t.id
JOIN info_type it2 ON it2.id = mi.info_type_id
WHERE it.info = 'death date' AND it2.info = 'sound mix' AND mi.info = 'Silent' AND t.production_year < 1935
GROUP BY n.gender
