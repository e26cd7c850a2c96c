-- Female leads of the biggest budgets.
SELECT n.name, count(*) AS chains, min(chn.name) AS part
FROM title t
JOIN kind_type kt ON kt.id = t.kind_id
JOIN movie_info budget ON budget.movie_id = t.id
JOIN info_type it1 ON it1.id = budget.info_type_id
JOIN movie_info_idx votes ON votes.movie_id = t.id
JOIN info_type it2 ON it2.id = votes.info_type_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN role_type rt ON rt.id = ci.role_id
JOIN name n ON n.id = ci.person_id
JOIN char_name chn ON chn.id = ci.person_role_id
JOIN aka_name an ON an.person_id = n.id
WHERE kt.kind = 'movie' AND it1.info = 'budget' AND budget.info LIKE '$1__,%' AND it2.info = 'votes'
  AND votes.info > '5' AND rt.role = 'actress' AND ci.nr_order < 4
GROUP BY n.name
ORDER BY chains DESC, n.name
LIMIT 20
