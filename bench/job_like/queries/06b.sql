-- People whose film is a remake of one they were in.
SELECT min(n.name) AS name, min(t1.title) AS title, count(*) AS remakes
FROM link_type lt
JOIN movie_link ml ON ml.link_type_id = lt.id
JOIN title t1 ON t1.id = ml.movie_id
JOIN cast_info c1 ON c1.movie_id = ml.movie_id
JOIN cast_info c2 ON c2.movie_id = ml.linked_movie_id AND c2.person_id = c1.person_id
JOIN name n ON n.id = c1.person_id
WHERE lt.link IN ('remake of', 'version of', 'follows')
