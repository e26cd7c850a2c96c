-- Two films of one director, linked, from different countries.
SELECT min(n.name) AS name, min(t1.title) AS title, min(t2.title) AS linked_title, count(*) AS chains
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN cast_info c1 ON c1.movie_id = t1.id
JOIN cast_info c2 ON c2.movie_id = t2.id AND c2.person_id = c1.person_id
JOIN role_type rt ON rt.id = c1.role_id
JOIN name n ON n.id = c1.person_id
JOIN movie_info i1 ON i1.movie_id = t1.id
JOIN movie_info i2 ON i2.movie_id = t2.id
JOIN info_type it1 ON it1.id = i1.info_type_id
JOIN info_type it2 ON it2.id = i2.info_type_id
WHERE rt.role = 'director' AND it1.info = 'countries' AND it2.info = 'countries'
  AND i1.info <> i2.info
