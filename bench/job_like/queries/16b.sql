-- Everything that links two popular films, and what is around them.
SELECT lt.link, count(*) AS chains, min(t1.title) AS title, max(v2.info) AS votes
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN kind_type kt ON kt.id = t1.kind_id AND kt.id = t2.kind_id
JOIN movie_info g1 ON g1.movie_id = t1.id
JOIN info_type it1 ON it1.id = g1.info_type_id
JOIN movie_info g2 ON g2.movie_id = t2.id AND g2.info = g1.info
JOIN info_type it2 ON it2.id = g2.info_type_id
JOIN movie_info_idx v1 ON v1.movie_id = t1.id
JOIN movie_info_idx v2 ON v2.movie_id = t2.id
JOIN info_type it3 ON it3.id = v1.info_type_id AND it3.id = v2.info_type_id
JOIN movie_keyword mk1 ON mk1.movie_id = t1.id
JOIN movie_keyword mk2 ON mk2.movie_id = t2.id AND mk2.keyword_id = mk1.keyword_id
JOIN keyword k ON k.id = mk1.keyword_id
JOIN movie_companies mc ON mc.movie_id = t2.id
WHERE kt.kind = 'movie' AND it1.info = 'genres' AND it2.info = 'genres' AND it3.info = 'votes'
  AND mc.note LIKE '%(theatrical)%' AND k.keyword < 'n'
GROUP BY lt.link
