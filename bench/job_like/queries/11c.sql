-- Quotes, trivia and goofs of the same titles multiply; a character brings them down.
SELECT count(*) AS chains, min(quote.info) AS quote, min(chn.name) AS part
FROM char_name chn
JOIN cast_info ci ON ci.person_role_id = chn.id
JOIN name n ON n.id = ci.person_id
JOIN title t ON t.id = ci.movie_id
JOIN movie_info quote ON quote.movie_id = t.id
JOIN info_type it1 ON it1.id = quote.info_type_id
JOIN movie_info goof ON goof.movie_id = t.id
JOIN info_type it2 ON it2.id = goof.info_type_id
JOIN movie_info country ON country.movie_id = t.id
JOIN info_type it3 ON it3.id = country.info_type_id
JOIN kind_type kt ON kt.id = t.kind_id
WHERE chn.name = 'Sherlock Holmes' AND it1.info = 'quotes' AND it2.info = 'goofs' AND it3.info = 'countries'
  AND country.info = 'UK' AND kt.kind IN ('movie', 'tv series', 'episode')
