-- Every release date with every distributor of thrillers; few of these pairs are of a Blu-ray in Sweden.
SELECT min(t.title) AS title, min(cn.name) AS company, max(dates.info) AS released, count(*) AS pairs
FROM movie_info genre
JOIN title t ON t.id = genre.movie_id
JOIN movie_info dates ON dates.movie_id = t.id
JOIN movie_companies mc ON mc.movie_id = t.id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN company_name cn ON cn.id = mc.company_id
WHERE genre.info_type_id = 3 AND genre.info = 'Thriller' AND dates.info_type_id = 16 AND dates.info LIKE 'Sweden:%'
  AND ct.kind = 'distributors' AND mc.note LIKE '%(Blu-ray)%'
