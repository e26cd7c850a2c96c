-- Directors of what a certain actor's films follow, or are followed by.
SELECT min(t1.title) AS title, min(t2.title) AS linked_title, count(*) AS chains
FROM name n
JOIN cast_info c1 ON c1.person_id = n.id
JOIN title t1 ON t1.id = c1.movie_id
JOIN movie_link ml ON ml.movie_id = t1.id
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN cast_info c2 ON c2.movie_id = t2.id
JOIN role_type rt ON rt.id = c2.role_id
WHERE n.name LIKE 'Bell, T%' AND lt.link LIKE 'follow%' AND rt.role = 'director'
