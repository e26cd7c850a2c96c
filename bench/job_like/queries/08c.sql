-- A star of five: keywords, companies, dates and votes of Scandinavian crime.
SELECT min(t.title) AS title, max(votes.info) AS votes, count(*) AS chains
FROM title t
JOIN movie_info country ON country.movie_id = t.id
JOIN movie_info genre ON genre.movie_id = t.id
JOIN movie_info dates ON dates.movie_id = t.id
JOIN movie_info_idx votes ON votes.movie_id = t.id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_companies mc ON mc.movie_id = t.id
WHERE country.info_type_id = 8 AND country.info IN ('Sweden', 'Norway', 'Denmark') AND genre.info_type_id = 3
  AND genre.info = 'Crime' AND dates.info_type_id = 16 AND votes.info_type_id = 100
  AND k.keyword IN ('murder', 'detective', 'police')
