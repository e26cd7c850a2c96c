-- What references what: keywords on both sides of a link.
SELECT k1.keyword, k2.keyword AS linked_keyword, count(*) AS links
FROM link_type lt
JOIN movie_link ml ON ml.link_type_id = lt.id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN movie_keyword mk1 ON mk1.movie_id = t1.id
JOIN keyword k1 ON k1.id = mk1.keyword_id
JOIN movie_keyword mk2 ON mk2.movie_id = t2.id
JOIN keyword k2 ON k2.id = mk2.keyword_id
JOIN kind_type kt ON kt.id = t1.kind_id
WHERE lt.link = 'references' AND k1.keyword LIKE '%love%' AND k2.keyword LIKE '%death%' AND kt.kind = 'movie'
GROUP BY k1.keyword, k2.keyword
HAVING count(*) > 3
