-- Links between titles, by what they link.
SELECT lt.link, k1.kind AS kind, k2.kind AS linked_kind, count(*) AS links
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN kind_type k1 ON k1.id = t1.kind_id
JOIN kind_type k2 ON k2.id = t2.kind_id
WHERE t1.production_year > t2.production_year
GROUP BY lt.link, k1.kind, k2.kind
