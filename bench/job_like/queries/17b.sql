-- Sequels with company, keyword, country and cast on one side, and a verified cast on the other.
SELECT cn.country_code, count(*) AS chains, min(t2.title) AS linked_title, min(n.name) AS name
FROM movie_link ml
JOIN link_type lt ON lt.id = ml.link_type_id
JOIN title t1 ON t1.id = ml.movie_id
JOIN kind_type kt ON kt.id = t1.kind_id
JOIN movie_keyword mk ON mk.movie_id = t1.id
JOIN keyword k ON k.id = mk.keyword_id
JOIN movie_companies mc ON mc.movie_id = t1.id
JOIN company_name cn ON cn.id = mc.company_id
JOIN company_type ct ON ct.id = mc.company_type_id
JOIN movie_info country ON country.movie_id = t1.id
JOIN info_type it ON it.id = country.info_type_id
JOIN cast_info ci ON ci.movie_id = t1.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN name n ON n.id = ci.person_id
JOIN title t2 ON t2.id = ml.linked_movie_id
JOIN complete_cast cc ON cc.movie_id = t2.id
JOIN comp_cast_type status ON status.id = cc.status_id
WHERE lt.link LIKE 'follow%' AND kt.kind = 'movie' AND k.keyword = 'sequel' AND ct.kind = 'production companies'
  AND mc.note IS NULL AND it.info = 'countries' AND country.info IN ('Germany', 'Sweden', 'France', 'USA')
  AND rt.role = 'director' AND status.kind = 'complete+verified'
GROUP BY cn.country_code
