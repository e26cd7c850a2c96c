-- Fans' biographies of people in titles that spoof others.
SELECT min(n.name) AS name, min(t.title) AS title, count(*) AS chains
FROM link_type lt
JOIN movie_link ml ON ml.link_type_id = lt.id
JOIN title t ON t.id = ml.movie_id
JOIN cast_info ci ON ci.movie_id = t.id
JOIN name n ON n.id = ci.person_id
JOIN person_info pi ON pi.person_id = n.id
JOIN info_type it ON it.id = pi.info_type_id
WHERE lt.link LIKE 'spoof%' AND it.info = 'mini biography' AND pi.note = 'frankfan'
