-- Blood on Blu-ray: writers, keywords, genres, votes and distributors of horror.
SELECT n.name, count(*) AS chains, max(votes.info) AS votes
FROM company_name cn
JOIN movie_companies mc ON mc.company_id = cn.id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN title t ON t.id = mc.movie_id
JOIN movie_keyword mk ON mk.movie_id = t.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_info genre ON genre.movie_id = t.id
JOIN info_type it1 ON it1.id = genre.info_type_id
JOIN movie_info_idx votes ON votes.movie_id = t.id
JOIN info_type it2 ON it2.id = votes.info_type_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN name n ON n.id = ci.person_id
WHERE mc.note LIKE '%(Blu-ray)%' AND ct.kind = 'distributors' AND cn.country_code = '[us]'
  AND k.keyword IN ('blood', 'gore', 'slasher', 'vampire', 'zombie') AND it1.info = 'genres' AND genre.info = 'Horror'
  AND it2.info = 'votes' AND ci.note IN ('(written by)', '(story)', '(writer)')
GROUP BY n.name
ORDER BY chains DESC, n.name
LIMIT 20
