-- Twice removed: what the followers of followers are called.
SELECT min(t3.title) AS title, count(*) AS chains
FROM keyword k
JOIN movie_keyword mk ON mk.keyword_id = k.id
JOIN movie_link l1 ON l1.movie_id = mk.movie_id
JOIN movie_link l2 ON l2.movie_id = l1.linked_movie_id
JOIN title t3 ON t3.id = l2.linked_movie_id
JOIN kind_type kt ON kt.id = t3.kind_id
WHERE k.keyword IN ('sequel', 'second-part', 'third-part') AND kt.kind = 'movie'
